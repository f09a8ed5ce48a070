import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Envelope } from '@chirality/core'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../.scripts/browser.ts'
import { call, change, cloneProject, type Machine, started, startHub, startWorker } from './support/fleet.ts'
import { createWorld } from './support/world.ts'

interface Listed {
  id: string
  title: string
  shelf: string | null
  machine?: { name: string; state: string }
}

const listOf = async (server: Machine) =>
  (await call<{ sessions: Listed[] }>(server, 'sessions.list', {})).sessions

async function textOf(page: Page, download: () => Promise<void>): Promise<string> {
  const saved = page.waitForEvent('download')
  await download()
  let text = ''
  for await (const piece of await (await saved).createReadStream()) text += String(piece)
  return text
}

test('a session of another machine is pinned, archived, renamed, read, replayed and deleted on a hub, in its dashboard and by its commands', async () => {
  const world = await createWorld({
    answers: ['Hello from the heron.'],
    otherwise: 'ok',
  })
  const [clone = ''] = cloneProject(world)
  const hub = await startHub(world, [clone])
  const worker = await startWorker(world, hub, { name: 'worker', projects: [world.project] })
  const create = async (title: string) =>
    (
      await change<{ id: string }>(hub, 'sessions.create', {
        ...{ project: world.project, machine: 'worker', harness: 'claude-code', title },
      })
    ).id
  const [id, other] = [await create('Birds of the lake'), await create('Never begun')]
  const isAt = async (server: Machine) => (await listOf(server)).find(one => one.id === id)
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await world.start(args, { ...hub.options, cwd: clone }).result()
    return { code, stdout, stderr }
  }
  const done = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(...args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }

  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(60_000)
  await page.goto(hub.link)
  await page.locator('.sheet').waitFor()
  await page.goto(`${hub.url}/s/${id}`)
  await page.getByRole('textbox', { name: 'Message' }).fill('What do you see?')
  await page.keyboard.press('Enter')
  await page.getByText('Hello from the heron.').first().waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()

  // By the keys of the page: on the machine that has it.
  await page.locator('.top-bar__title').click()
  await page.keyboard.press('p')
  await expect.poll(async () => (await isAt(worker))?.shelf).toBe('pinned')
  await page.getByRole('img', { name: 'Pinned' }).waitFor()
  await page.keyboard.press('z')
  await page.getByText('Archived "Birds of the lake".').waitFor()
  await expect.poll(async () => (await isAt(worker))?.shelf).toBe('archived')
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(async () => (await isAt(worker))?.shelf).toBe('pinned')
  await page.keyboard.press('r')
  await page.getByRole('textbox', { name: 'Name' }).fill('Herons')
  await page.keyboard.press('Enter')
  await expect.poll(async () => (await isAt(worker))?.title).toBe('Herons')

  // By commands of the hub.
  expect(await done('sessions', 'archive', id.slice(0, 13))).toBe(`Archived ${id} (Herons).\n`)
  await expect.poll(async () => (await isAt(worker))?.shelf).toBe('archived')
  await expect.poll(() => done('sessions', 'list', '--all', '--archived')).toContain(id)
  expect(await done('sessions', 'archive', id, '--undo')).toContain('No longer archived')
  expect(await done('sessions', 'rename', id, 'Grey', 'herons')).toBe(`Renamed ${id} (Grey herons).\n`)
  await expect.poll(async () => (await isAt(hub))?.title).toBe('Grey herons')

  // It is read from the mirror: by the page and by commands, also while its machine is away.
  const reads = async () => {
    const [line] = (await done('sessions', 'list', '--all')).split('\n').filter(one => one.includes(id))
    expect(line).toMatch(/Grey herons {2}.*project on worker$/)
    const listed = (await done('sessions', 'list', '--all', '--json')).trim().split('\n')
    expect(listed.map(text => JSON.parse(text) as Listed)).toContainEqual(
      expect.objectContaining({ id, machine: { name: 'worker' } }),
    )
    const shown = await done('sessions', 'show', id)
    expect(shown).toMatch(/machine +worker\n/)
    expect(shown).toContain('Hello from the heron.')
    expect(await done('sessions', 'search', '"from the heron"', '--all')).toContain(`${id}  #`)
    expect(await done('sessions', 'export', id)).toContain('Hello from the heron.')
    expect(await done('replay', id, '--speed', 'max')).toContain('> What do you see?')
    const replayed = (await done('replay', id, '--speed', 'max', '--json')).trim().split('\n')
    const history = await call<Envelope[]>(hub, 'sessions.history', { sessionId: id })
    expect(replayed.map(text => JSON.parse(text) as Envelope)).toEqual(history)
    const found = await call<{ hits: object[] }>(hub, 'sessions.search', { query: 'heron' })
    expect(found.hits).toContainEqual(expect.objectContaining({ sessionId: id, title: 'Grey herons' }))
    const actions = page.getByRole('button', { name: 'Actions' })
    const exported = await textOf(page, async () => {
      await actions.click()
      await page.getByRole('menuitem', { name: 'Export as a page that replays it' }).click()
    })
    const replay = await browser.newPage()
    await replay.setContent(exported)
    await replay.getByText('Hello from the heron.').first().waitFor()
    await replay.close()
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('from the heron')
    await page.getByRole('region', { name: 'In conversations' }).getByText('Grey herons').waitFor()
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('')
  }
  await reads()
  // The agent's own lines are on its machine.
  const raw = await call<{ lines: unknown[] }>(hub, 'sessions.nativeLines', { sessionId: id })
  expect(raw.lines.length).toBeGreaterThan(0)

  worker.command.signal('SIGKILL')
  await worker.command.result()
  await page.getByRole('status').getByText('worker is away').waitFor()
  await reads()
  await page.reload()
  await page.getByText('Hello from the heron.').first().waitFor()
  for (const [name, input] of [
    ['sessions.shelve', { sessionIds: [id], shelf: null }],
    ['sessions.discard', { sessionIds: [id] }],
    ['sessions.delete', { sessionId: id }],
    ['sessions.nativeLines', { sessionId: id }],
  ] as const) {
    const asked = name === 'sessions.nativeLines' ? call(hub, name, input) : change(hub, name, input)
    await expect(asked).rejects.toThrow(/machine-away: .*Nothing was done/)
  }
  const refused = await command('sessions', 'delete', id, '--yes')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('worker cannot be reached now') })
  expect(await isAt(hub)).toMatchObject({ title: 'Grey herons', shelf: null })

  // Back, deleted there, restored and deleted again: every list follows.
  const again = { ...worker, ...(await started(worker.start())) }
  await expect.poll(async () => (await isAt(hub))?.machine?.state, { timeout: 60_000 }).toBe('here')
  await page.getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByText('Deleted "Grey herons".').waitFor()
  await expect.poll(() => isAt(hub)).toBeUndefined()
  expect(await isAt(again)).toBeUndefined()
  await expect(call(hub, 'sessions.get', { sessionId: id })).rejects.toThrow(/not-found|session_not_found/)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => isAt(hub)).toMatchObject({ title: 'Grey herons' })
  expect(await isAt(again)).toMatchObject({ title: 'Grey herons' })

  const mirrors = path.join(hub.home, 'fleet', 'mirrors', 'worker', '.chirality', 'events')
  const copies = path.join(hub.home, 'fleet', 'copies', 'worker')
  const ofSession = (folder: string) =>
    existsSync(folder) ? readdirSync(folder).filter(name => name.startsWith(id)) : []
  expect(ofSession(mirrors)).not.toEqual([])
  await expect.poll(() => ofSession(copies), { timeout: 60_000 }).not.toEqual([])
  expect(await done('sessions', 'delete', id, '--yes')).toBe(
    `Deleted ${id} (Grey herons) on the machine worker.\n`,
  )
  await expect.poll(() => [ofSession(mirrors), ofSession(copies)]).toEqual([[], []])
  expect([await isAt(hub), await isAt(again)]).toEqual([undefined, undefined])
  expect(readdirSync(path.join(world.project, '.chirality', 'events')).join()).not.toContain(id)
  expect((await command('sessions', 'show', id)).code).not.toBe(0)

  // The end is told again to a hub that starts: nothing comes back.
  const rest = await fetch(`${hub.url}/api/harness/session/${other}`, {
    ...{ method: 'DELETE', headers: { authorization: `Bearer ${hub.token}` } },
  })
  expect(rest.status).toBe(204)
  await expect.poll(() => listOf(hub)).toEqual([])
  hub.command.signal('SIGINT')
  expect((await hub.command.result()).code).toBe(0)
  const serve = ['serve', '--json', '--port', '0', '--no-open', '--fleet', hub.fleetUrl, '--project', clone]
  const hubAgain = { ...hub, ...(await started(world.start(serve, hub.options))) }
  const kept = await change<{ id: string }>(again, 'sessions.create', {
    project: world.project,
    title: 'New',
  })
  await change(again, 'sessions.rename', { sessionId: kept.id, title: 'Newer' })
  await expect.poll(async () => (await listOf(hubAgain)).map(one => one.id)).toEqual([kept.id])
  expect([ofSession(mirrors), ofSession(copies)]).toEqual([[], []])
  expect(readFileSync(path.join(hub.home, 'fleet', 'mirrors', '.cursor'), 'utf8')).toMatch(/^\d+$/)
  for (const server of [again, hubAgain]) {
    server.command.signal('SIGINT')
    expect((await server.command.result()).code).toBe(0)
  }
}, 900_000)
