/** Whether a key belongs to what has the focus: letters typed into a field, or to find an entry of a menu, are no shortcuts. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return (
    target.isContentEditable ||
    target.closest('input:not([type="radio"]), textarea, select, [role="textbox"], [role="menu"]') !== null
  )
}
