#!/usr/bin/env node
// Nothing but SIGKILL ends it.
import { writeSync } from 'node:fs'

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
setInterval(() => {}, 1_000_000)
const message = { id: 'm', content: [{ type: 'text', text: 'ready' }] }
writeSync(1, `${JSON.stringify({ type: 'assistant', session_id: 's', message })}\n`)
