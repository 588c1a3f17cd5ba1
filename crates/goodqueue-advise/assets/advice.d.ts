/** Makes the menu of routers and the copy buttons of an answer work. */
export function wire(root: ParentNode): void;
