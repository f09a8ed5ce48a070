#!/usr/bin/env node
// Answers Ctrl-C with a word instead of an end. SIGTERM ends it.
import { writeSync } from 'node:fs'

function say(text) {
  const message = { id: text, content: [{ type: 'text', text }] }
  writeSync(1, `${JSON.stringify({ type: 'assistant', session_id: 's', message })}\n`)
}

process.on('SIGINT', () => say('no'))
setInterval(() => {}, 1_000_000)
say('ready')
