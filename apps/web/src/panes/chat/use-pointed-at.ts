import { useState } from 'react'

/** Whether a mouse is over it. What is shown only then need not be drawn for every row of a long list. */
export function usePointedAt() {
  const [on, setOn] = useState(false)
  return { on, props: { onMouseEnter: () => setOn(true), onMouseLeave: () => setOn(false) } }
}
