import { useState } from 'react'
import { copyText } from './copy-text.ts'
import { IconButton } from './IconButton.tsx'
import { toasts } from '../overlay/toast-store.ts'

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
