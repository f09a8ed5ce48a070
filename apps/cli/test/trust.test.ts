import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { TrustStore, userDataFolder } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { EDITOR_SERVERS } from '../src/commands/acp/editor-servers.ts'
import { createWorld } from './support/world.ts'

/** A project whose hook leaves a file. */
async function clonedWorld() {
  const world = await createWorld({ answers: [], otherwise: 'Hello.' })
  const ran = path.join(world.home, 'ran')
  mkdirSync(path.join(world.project, '.claude'))
  const write = (note: string) => {
    const hook = { type: 'command', command: `touch '${ran}' # ${note}` }
    const settings = JSON.stringify({ hooks: { SessionStart: [{ hooks: [hook] }] } })
    writeFileSync(path.join(world.project, '.claude/settings.json'), settings)
  }
  write('\u001b]0;owned\u0007one')
  const trust = (...args: string[]) => world.run(['trust', ...args])
  return { ...world, write, trust, ran: () => existsSync(ran) }
}

test('chirality trust shows the files, harmless, and agrees to what it showed only', async () => {
  const { trust, run, write, ran } = await clonedWorld()
  const untrusted = await run(['run', 'Hi'])
  expect(untrusted.code).toBe(0)
  expect(untrusted.stdout).toContain(
    'brings its own agent settings (.claude/settings.json); they are not used',
  )
  expect(ran()).toBe(false)

  const { code, stdout } = await trust()
  expect(code).toBe(0)
  expect(stdout).toContain('.claude/settings.json\n')
  expect(stdout).toContain('SessionStart')
  expect(stdout).not.toContain('\u001b')
  const [, fingerprint = ''] = /trust allow ([0-9a-f]{64})/.exec(stdout) ?? []
  write('two')
  expect(await trust('allow', fingerprint)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('have changed since they were shown'),
  })
  expect(await trust('allow')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  const { fingerprint: shown } = JSON.parse((await trust('show', '--json')).stdout)
  expect(await trust('allow', shown)).toMatchObject({ code: 0 })
  const trusted = await run(['run', 'Hi'])
  expect(trusted.stdout).not.toContain('are not used')
  expect(ran()).toBe(true)
  expect((await trust('revoke', '--json')).stdout).toContain('"isTrusted":false')
})

test('chirality run --trust-project agrees to the files as they are', async () => {
  const { run, trust, ran } = await clonedWorld()
  const { code, stdout } = await run(['run', 'Hi', '--trust-project'])
  expect(code).toBe(0)
  expect(stdout).not.toContain('are not used')
  expect(ran()).toBe(true)
  expect((await trust()).stdout).toContain('You allowed these files')
})

test('a project without such files has nothing to allow', async () => {
  const world = await createWorld()
  // What is always allowed in an editor ends with `revoke`, too.
  const store = new TrustStore({ home: userDataFolder(world.env) })
  await store.trust(world.project, EDITOR_SERVERS, 'of a server')
  expect(store.isTrusted(world.project, EDITOR_SERVERS, 'of a server')).toBe(true)
  expect((await world.run(['trust', 'revoke'])).stdout).toContain('Editors ask again')
  expect(store.isTrusted(world.project, EDITOR_SERVERS, 'of a server')).toBe(false)
  expect((await world.run(['trust'])).stdout).toBe('This project brings no agent settings.\n')
  expect(await world.run(['trust', 'allow', '--yes'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nothing to allow'),
  })
})
