type Child = Node | string | null | undefined | false

/** An element with its children. Texts become text nodes: nothing here is ever parsed as HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  for (const child of children) if (child) made.append(child)
  return made
}
