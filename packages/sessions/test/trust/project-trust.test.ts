import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProjectFiles, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { TrustStore } from '../../src/trust/trust-store.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()
const ran = () => readdirSync(world.root).filter(name => name.startsWith('ran-'))

/** A cloned project whose hook leaves a file. */
function clone(name: string): void {
  mkdirSync(join(world.project, '.claude'), { recursive: true })
  const command = `touch '${join(world.root, `ran-${name}`)}'`
  const hooks = { SessionStart: [{ hooks: [{ type: 'command', command }] }] }
  writeFileSync(join(world.project, '.claude/settings.json'), JSON.stringify({ hooks }))
}

const notices = (events: UIEvent[]) =>
  events.flatMap(event => (event.type === 'status' && event.data?.trust ? [event.message] : []))

test('files of a project are used from the agreement to exactly them until they change', async () => {
  const model = await world.model({ answers: [], otherwise: 'Hello.' })
  const host = world.host([world.claude(model, { keepAlive: true })])
  clone('first')
  const session = await host.session((await host.createSession(world.project)).id)
  const turn = async () => {
    await session.start('Hi')
    await session.settled()
  }

  await session.prewarm()
  await turn()
  await turn()
  expect(ran()).toEqual([])
  expect(notices(eventsOf(session))).toEqual([expect.stringContaining('.claude/settings.json')])

  const shown = await host.trust.state(world.project)
  expect(shown).toMatchObject({ isTrusted: false, files: [{ path: '.claude/settings.json' }] })
  clone('second')
  await expect(host.trust.allow(world.project, shown.fingerprint)).rejects.toMatchObject({ code: 'changed' })
  clone('first')
  expect(await host.trust.allow(world.project, shown.fingerprint)).toMatchObject({ isTrusted: true })
  await turn()
  expect(ran()).toEqual(['ran-first'])
  expect(notices(eventsOf(session))).toHaveLength(1)

  clone('second')
  await turn()
  expect(ran()).toEqual(['ran-first'])
  expect(notices(eventsOf(session))).toHaveLength(2)

  clone('first')
  expect(await host.trust.state(world.project)).toMatchObject({ isTrusted: true })
  expect(await host.trust.revoke(world.project)).toMatchObject({ isTrusted: false })
})

test('a project without such files asks nothing', async () => {
  const model = await world.model({ answers: ['Hello.'] })
  const host = world.host([world.claude(model)])
  expect(await host.trust.state(world.project)).toMatchObject({ files: [], isTrusted: false })
  const session = await host.session((await host.createSession(world.project)).id)
  await session.start('Hi')
  await session.settled()
  expect(notices(eventsOf(session))).toEqual([])
})

test('files that cannot all be read are not trusted, whatever was agreed to', async () => {
  const found: ProjectFiles = { files: [{ path: '.mcp.json', content: Buffer.from('{}') }] }
  const model = await world.model({})
  const harness = Object.assign(world.claude(model), { projectFiles: async () => found })
  const { trust } = world.host([harness])
  const { fingerprint } = await trust.state(world.project)
  await trust.allow(world.project, fingerprint)
  expect(await trust.state(world.project)).toMatchObject({ isTrusted: true })
  found.problem = 'There are too many.'
  expect(await trust.state(world.project)).toMatchObject({ isTrusted: false })
  await expect(trust.allow(world.project, fingerprint)).rejects.toMatchObject({ code: 'unsafe' })
})

test('the store believes only a file of its own, outside the project', async () => {
  const store = new TrustStore({ home: world.data })
  expect(store.isTrusted(world.project, 'k', 'f')).toBe(false)
  await store.trust(world.project, 'k', 'f')
  expect(store.isTrusted(world.project, 'k', 'f')).toBe(true)
  expect(store.isTrusted(world.project, 'other', 'f')).toBe(false)
  expect(store.isTrusted(world.root, 'k', 'f')).toBe(false)
  const [name] = readdirSync(join(world.data, 'approvals'))
  const file = join(world.data, 'approvals', name ?? '')
  const text = readFileSync(file, 'utf8')
  chmodSync(file, 0o666)
  expect(store.isTrusted(world.project, 'k', 'f')).toBe(false)
  chmodSync(file, 0o600)
  for (const junk of ['', '{', '[]', '{"fingerprints":["f"]}', text.replace('"k"', '"x"')]) {
    writeFileSync(file, junk)
    expect(store.isTrusted(world.project, 'k', 'f')).toBe(false)
  }
  const inside = new TrustStore({ home: join(world.project, 'data') })
  await inside.trust(world.project, 'k', 'f')
  expect(inside.isTrusted(world.project, 'k', 'f')).toBe(false)
})

test('agreements at the same time are all kept, the last twenty of them', async () => {
  const store = new TrustStore({ home: world.data })
  const names = Array.from({ length: 25 }, (_, n) => `f${n}`)
  await Promise.all(names.map(name => store.trust(world.project, 'k', name)))
  expect(names.filter(name => store.isTrusted(world.project, 'k', name))).toEqual(names.slice(5))
})
