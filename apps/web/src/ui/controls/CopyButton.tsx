import { useState } from 'react'
import { toasts } from '../overlay/toast-store.ts'
import { IconButton } from './IconButton.tsx'

const CONFIRM_MS = 1500

export function CopyButton({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <IconButton
      icon={copied ? 'check' : 'copy'}
      label={copied ? 'Copied' : label}
      onClick={() => {
        copyText(typeof text === 'string' ? text : text()).then(
          () => {
            setCopied(true)
            setTimeout(() => setCopied(false), CONFIRM_MS)
          },
          () => toasts.error('The browser does not let this page copy. Select the text instead.'),
        )
      }}
    />
  )
}

/** Over plain HTTP from another machine there is no clipboard, only the old way. Rejects where neither works. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'hidden-visually'
  // Inside of an open dialog: what is outside of it cannot have the focus.
  const place = document.querySelector('dialog[open]') ?? document.body
  place.append(field)
  field.select()
  const isDone = document.execCommand('copy')
  field.remove()
  if (!isDone) throw new Error('The browser refused to write to the clipboard.')
}
