import { useState } from 'react'
import { IconButton } from './IconButton.tsx'

const CONFIRM_MS = 1500

export function CopyButton({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <IconButton
      icon={copied ? 'check' : 'copy'}
      label={copied ? 'Copied' : label}
      onClick={() => {
        void navigator.clipboard.writeText(typeof text === 'string' ? text : text()).then(() => {
          setCopied(true)
          setTimeout(() => setCopied(false), CONFIRM_MS)
        })
      }}
    />
  )
}
