//! A listener whose connections can be cut while an answer is on its way.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Cuts its connection after so many more bytes.
#[derive(Clone, Debug)]
pub(crate) struct Cut(Arc<AtomicUsize>);

impl Cut {
    /// Lets so many bytes more through, and no others.
    pub(crate) fn at(&self, bytes: usize) {
        self.0.store(bytes, Ordering::SeqCst);
    }
}

impl Connected<IncomingStream<'_, Door>> for Cut {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.remote_addr().clone()
    }
}

/// Listens on a free port of loopback.
pub(crate) struct Door(TcpListener);

impl Door {
    pub(crate) async fn open() -> Self {
        Self(TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port"))
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }
}

impl Listener for Door {
    type Io = Line;
    type Addr = Cut;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, cut) = (self.0.accept().await, Cut(Arc::new(AtomicUsize::new(usize::MAX))));
        (Line { stream: stream.expect("a connection").0, cut: cut.clone() }, cut)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(Cut(Arc::default()))
    }
}

/// One connection.
pub(crate) struct Line {
    stream: TcpStream,
    cut: Cut,
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let left = self.cut.0.load(Ordering::SeqCst);
        if left == 0 {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let bytes = &bytes[..bytes.len().min(left)];
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = written
            && left != usize::MAX
        {
            self.cut.at(left - written);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
