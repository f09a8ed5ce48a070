/** A sentence in which what stands between backticks is to be typed. */
export function Words({ text }: { text: string }) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))
}
