//! Controllers of other crates among those of this one: [`AnyCongestionControl::Own`].
//!
//! [`AnyCongestionControl::Own`]: crate::AnyCongestionControl::Own

use alloc::boxed::Box;
use core::fmt::{self, Debug};

use goodqueue::{Duration, Instant};

use crate::congestion::parameter::Value;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Controller, Feedback, LostSegment, Pacing, Start, Window,
};

/// A controller of another crate. Each call goes through a virtual table.
///
/// ```
/// use goodqueue_tcp::congestion::own::Own;
/// use goodqueue_tcp::congestion::{About, Ack, Congestion, Controller};
/// use goodqueue_tcp::{Config, CongestionControl, Sender};
///
/// /// Keeps a window of ten segments.
/// #[derive(Clone, Debug, Default)]
/// struct Ten;
///
/// impl CongestionControl for Ten {
///     fn on_ack(&mut self, ack: &mut Ack, _cwnd: u64) -> u64 {
///         10 * u64::from(ack.mss)
///     }
///
///     fn on_congestion(&mut self, event: &Congestion) -> u64 {
///         10 * u64::from(event.mss)
///     }
/// }
///
/// impl Controller for Ten {
///     const ABOUT: About = About { name: "ten", summary: "ten segments", ..About::PLAIN };
/// }
///
/// let sender = Sender::new(Config::default(), Own::new(Ten))?;
/// assert_eq!(sender.controller().about().name, "ten");
/// # Ok::<(), goodqueue::ConfigError>(())
/// ```
pub struct Own(Box<dyn Boxed>);

impl Own {
    /// Returns the controller, ready for a [`Sender`](crate::Sender).
    #[must_use]
    pub fn new<C: Controller>(controller: C) -> Self {
        Self(Box::new(controller))
    }

    pub(crate) fn about(&self) -> &'static About {
        self.0.about()
    }

    pub(crate) fn set(&mut self, parameter: &str, value: Value) {
        self.0.set(parameter, value);
    }
}

/// A [`Controller`] behind a pointer.
trait Boxed: CongestionControl + Debug + Send + Sync {
    fn about(&self) -> &'static About;
    fn set(&mut self, parameter: &str, value: Value);
    fn boxed(&self) -> Box<dyn Boxed>;
}

impl<C: Controller> Boxed for C {
    fn about(&self) -> &'static About {
        &C::ABOUT
    }

    fn set(&mut self, parameter: &str, value: Value) {
        Controller::set(self, parameter, value);
    }

    fn boxed(&self) -> Box<dyn Boxed> {
        Box::new(self.clone())
    }
}

impl Clone for Own {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CongestionControl for Own {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        self.0.on_ack(ack, cwnd)
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.0.on_congestion(event)
    }

    fn on_loss_after_mark(&mut self, event: &Congestion) -> Option<u64> {
        self.0.on_loss_after_mark(event)
    }

    fn on_lost(&mut self, lost: &LostSegment) {
        self.0.on_lost(lost);
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        self.0.on_feedback(feedback, window);
    }

    fn on_idle(&mut self, now: Instant, idle: Duration) {
        self.0.on_idle(now, idle);
    }

    fn on_start(&mut self, start: &Start) {
        self.0.on_start(start);
    }

    fn on_timeout(&mut self, lost: u64) {
        self.0.on_timeout(lost);
    }

    fn on_undo(&mut self) {
        self.0.on_undo();
    }

    fn pacing(&self) -> Pacing {
        self.0.pacing()
    }
}
