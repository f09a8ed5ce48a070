// Writes down how it was called, and answers.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { answerVersion, init, print, result, said } from './fake-claude-events.mjs'

answerVersion()
const args = process.argv.slice(2)
const fileFlags = ['--mcp-config', '--system-prompt-file', '--append-system-prompt-file']
const files = fileFlags.flatMap(flag => {
  const path = args[args.indexOf(flag) + 1]
  if (!args.includes(flag) || path === undefined) return []
  const { mode, uid } = statSync(path)
  return [[flag, { path, mode: (mode & 0o777).toString(8), uid, text: readFileSync(path, 'utf8') }]]
})
const stdin = readFileSync(0, 'utf8')
writeFileSync(
  'seen.json',
  JSON.stringify({ args, env: process.env, stdin, files: Object.fromEntries(files) }),
)
print(init())
print(said('Recorded.'))
print(result('Recorded.'))
