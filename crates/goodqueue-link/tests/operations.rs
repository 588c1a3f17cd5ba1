//! Random operations on links: with a slow model, and with extreme values.

use goodqueue_testkit::link::{any_link, link_and_model};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_link_with_a_fifo_does_what_its_definition_says(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert_eq!(link_and_model(&bytes), Ok(()));
    }

    #[test]
    fn no_operation_makes_a_link_panic_or_lose_a_packet(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(any_link(&bytes), Ok(()));
    }
}
