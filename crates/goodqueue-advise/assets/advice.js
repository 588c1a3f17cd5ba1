// The menu of routers and the copy buttons of an answer. Without this script, all routers are
// shown below each other.

export function wire(root) {
  for (const select of root.querySelectorAll("select[data-routers]")) {
    const sections = [...root.querySelectorAll("section[data-router]")];
    const show = () => {
      for (const section of sections) section.hidden = section.dataset.router !== select.value;
    };
    select.addEventListener("change", show);
    select.closest("label").hidden = false;
    show();
  }
  for (const button of root.querySelectorAll(".setting button")) {
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent);
        button.textContent = "Copied";
      } catch {
        // Only pages of a secure address may write to the clipboard.
        button.textContent = "Select the text to copy it";
      }
      setTimeout(() => { button.textContent = label; }, 4000);
    });
  }
}
