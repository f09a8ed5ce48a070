// Starts a member in the given shape, then lives until its stdin ends.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const [shape] = process.argv.slice(2)
const member = fileURLToPath(new URL('./member.mjs', import.meta.url))
const stdio = ['ignore', 'inherit', 'inherit']

switch (shape) {
  case 'plain':
    spawn(process.execPath, [member], { stdio })
    break
  case 'ignores-term':
    spawn(process.execPath, [member, 'ignore-term'], { stdio })
    break
  case 'own-session':
    spawn(process.execPath, [member], { stdio, detached: true })
    break
  case 'own-session-ignores-term':
    spawn(process.execPath, [member, 'ignore-term'], { stdio, detached: true })
    break
  case 'double-fork':
    spawn(process.execPath, [fileURLToPath(new URL('./double-fork.mjs', import.meta.url)), member], {
      stdio,
      detached: true,
    })
    break
  case 'no-environment':
    spawn(process.execPath, [member], { stdio, env: {} })
    break
  case 'no-environment-own-session':
    spawn(process.execPath, [member], { stdio, env: {}, detached: true })
    break
  default:
    throw new Error(`no such shape: ${shape}`)
}
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
