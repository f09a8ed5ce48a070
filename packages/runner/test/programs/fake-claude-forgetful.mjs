// Knows no earlier conversation. With `vanish` it removes itself when asked for one.
import { rmSync } from 'node:fs'
import { answerVersion, init, print, result, testArguments } from './fake-claude-events.mjs'

answerVersion()
if (process.argv.includes('--resume')) {
  if (testArguments().includes('vanish')) rmSync(process.env.FAKE_AGENT)
  const errors = ['No conversation found with session ID: gone']
  print(result(undefined, { subtype: 'error_during_execution', is_error: true, errors, session_id: 'x' }))
  process.exitCode = 1
} else {
  print(init())
  print(result('A fresh start.'))
}
