//! Messages to the user while packets are carried.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use goodqueue_live_runs::request_handler::Tell;

use crate::messages::say;

/// Writes to standard error from its own thread, because a pipe that nobody reads must not stop the
/// packets. Dropping it waits until all messages are written.
pub(crate) struct ErrorWriter {
    sentences: Option<SyncSender<String>>,
    speaker: Option<JoinHandle<()>>,
}

impl Default for ErrorWriter {
    fn default() -> Self {
        let (sentences, said) = sync_channel::<String>(MOST_WAITING);
        let speak = move || {
            for sentence in said {
                say(sentence);
            }
        };
        // Without a thread the messages are lost, because they must not stop the packets.
        let speaker = std::thread::Builder::new().name("voice".to_owned()).spawn(speak).ok();
        Self { sentences: Some(sentences), speaker }
    }
}

impl ErrorWriter {
    /// Returns what queues a message for a writer of its own; `None` if `quiet`.
    pub(crate) fn tell(quiet: bool) -> Option<Tell> {
        let writer = (!quiet).then(Self::default)?;
        Some(Box::new(move |sentence| writer.say(sentence)))
    }

    /// Queues a message. Drops it if too many wait.
    fn say(&self, sentence: String) {
        if let Some(sentences) = &self.sentences {
            // `send` would wait for the reader of standard error, and the packets with it.
            let _ = sentences.try_send(sentence);
        }
    }
}

impl Drop for ErrorWriter {
    fn drop(&mut self) {
        // The thread ends when the channel is closed.
        self.sentences = None;
        if let Some(speaker) = self.speaker.take() {
            let _ = speaker.join();
        }
    }
}

/// Messages that may wait: more than there are, because each is reported once.
const MOST_WAITING: usize = 64;
