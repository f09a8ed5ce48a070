import { execFileSync } from 'node:child_process'
import type { StoredSession } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { continueCommand } from './find-session.ts'

test.each(['/srv/plain', "/srv/it's here", '/srv/\u001b]0;title\u0007\u202ex', "/srv/line\nbreak 'ü😀' \\x"])(
  'the command for a project in %j names that folder, and nothing of it reaches the terminal',
  projectRoot => {
    const command = continueCommand({ id: 'the-id', projectRoot } as StoredSession)
    expect(command).toMatch(/^chirality run --session the-id --project [^\p{Cc}\u202e]+ "…"$/u)
    const script = command.replace('chirality run', 'printf "%s\\n"')
    const printed = execFileSync('/bin/bash', ['-c', script], { encoding: 'utf8' })
    expect(printed).toBe(`--session\nthe-id\n--project\n${projectRoot}\n…\n`)
  },
)

test.each([
  ['crashed', '"Go on."'],
  ['max_turns', '"Go on."'],
  ['completed', '"…"'],
  [null, '"…"'],
])('after a turn that ended as %s the command ends with %s', (lastTurn, message) => {
  const session = { id: 'the-id', projectRoot: '/srv/plain', lastTurn } as StoredSession
  expect(continueCommand(session).endsWith(` ${message}`)).toBe(true)
})
