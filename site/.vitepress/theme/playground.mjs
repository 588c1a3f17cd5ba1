// The playground in a frame that is as high as its content, so that no row is cut.

import { withBase } from "vitepress";
import { defineComponent, h, onBeforeUnmount, onMounted, ref } from "vue";

/** Bounds in pixels: a frame of another height would be a mistake. */
const [LEAST, MOST] = [200, 6000];

export default defineComponent({
  name: "Playground",
  setup() {
    const frame = ref(null);
    const height = ref(null);
    const heard = ({ source, data }) => {
      if (source !== frame.value?.contentWindow || data?.type !== "goodqueue:height") return;
      if (data.height >= LEAST && data.height <= MOST) height.value = `${Math.ceil(data.height)}px`;
    };
    onMounted(() => {
      window.addEventListener("message", heard);
      // The frame may have told its height before anybody listened.
      frame.value?.contentWindow?.postMessage({ type: "goodqueue:height?" }, window.location.origin);
    });
    onBeforeUnmount(() => window.removeEventListener("message", heard));
    return () => h("iframe", {
      ref: frame,
      class: "playground",
      src: withBase("/playground/index.html?embed"),
      title: "Two queues with the same traffic, side by side",
      style: height.value === null ? undefined : { height: height.value },
    });
  },
});
