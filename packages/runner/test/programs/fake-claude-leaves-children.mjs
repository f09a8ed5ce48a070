// Answers and exits, and leaves two processes behind: one in its group, one in a session of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { init, print, result } from './fake-claude-events.mjs'

print(init())
const source = 'process.stdout.write("up"); setInterval(() => {}, 1_000_000)'
for (const detached of [false, true]) {
  const child = spawn(process.execPath, ['-e', source], { stdio: ['ignore', 'pipe', 'ignore'], detached })
  await once(child.stdout, 'data')
  child.unref()
  child.stdout.destroy()
}
print(result('I left something running.'))
