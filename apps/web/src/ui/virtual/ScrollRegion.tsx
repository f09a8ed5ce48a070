import type { ComponentProps } from 'react'

/** Something that scrolls by itself: it has a name and can have the focus, so that the keyboard can scroll it, too. */
export function ScrollRegion({ label, ...rest }: ComponentProps<'section'> & { label: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: without the focus the keyboard cannot scroll it
  return <section aria-label={label} tabIndex={0} {...rest} />
}
