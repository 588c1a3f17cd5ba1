//! What the user is told while packets are carried.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::messages::say;

/// Writes to standard error from a thread of its own: it may be a pipe that nobody reads any more, and the loop goes on.
/// Dropping it waits until everything is written.
pub(crate) struct Voice {
    sentences: Option<SyncSender<String>>,
    speaker: Option<JoinHandle<()>>,
}

impl Default for Voice {
    fn default() -> Self {
        let (sentences, said) = sync_channel::<String>(MOST_WAITING);
        let speak = move || {
            for sentence in said {
                say(sentence);
            }
        };
        let speaker = std::thread::Builder::new().name("voice".to_owned()).spawn(speak).ok();
        Self { sentences: Some(sentences), speaker }
    }
}

impl Voice {
    /// Says something, unless too much is waiting to be said already.
    pub(crate) fn say(&self, sentence: String) {
        if let Some(sentences) = &self.sentences {
            let _ = sentences.try_send(sentence);
        }
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        self.sentences = None;
        if let Some(speaker) = self.speaker.take() {
            let _ = speaker.join();
        }
    }
}

/// More than are ever said: each is said once.
const MOST_WAITING: usize = 64;
