import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Envelope } from '@chirality/core'
import { expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../.scripts/browser.ts'
import {
  call,
  change,
  cloneProject,
  git,
  type Server,
  started,
  startHub,
  startWorker,
} from './support/fleet.ts'
import { createWorld } from './support/world.ts'

const AGENTS = ['messages-api', 'claude-code', 'codex']

const idsOn = async (server: Server) => {
  const page = await call<{ sessions: { id: string; machine?: object }[] }>(server, 'sessions.list', {})
  return page.sessions.flatMap(({ id, machine }) => (machine === undefined ? [id] : []))
}

test('sessions of a machine that is killed go on on another one; when it is back, it is refused', async () => {
  const world = await createWorld({
    answers: [
      ...AGENTS.map(agent => `I noted the heron of ${agent}.`),
      ...AGENTS.map(() => ({ text: 'This takes its time.', stallAfter: 1 })),
      ...AGENTS.map(agent => `On with it, says ${agent}.`),
    ],
    otherwise: 'ok',
  })
  const [clone = ''] = cloneProject(world)
  // The agents of the machines know nothing of each other's conversations.
  const other = path.join(world.home, 'other')
  mkdirSync(other)
  const hub = await startHub(world, [clone])
  const worker = await startWorker(world, hub, {
    ...{ name: 'worker', projects: [world.project], env: { HOME: other } },
  })
  const history = async (id: string) =>
    (await call<Envelope[]>(hub, 'sessions.history', { sessionId: id }).catch(() => [])).map(
      ({ event }) => event,
    )
  const texts = async (id: string) =>
    (await history(id)).flatMap(event => (event.type === 'chat:message' ? [event.text] : []))
  const notices = async (id: string) =>
    (await history(id)).flatMap(event => (event.type === 'status' ? [event.message] : []))

  writeFileSync(path.join(world.project, 'bird.txt'), 'heron\n')
  const ids: string[] = []
  for (const harness of AGENTS) {
    const { id } = await change<{ id: string }>(worker, 'sessions.create', {
      ...{ project: world.project, harness },
    })
    ids.push(id)
    await change(worker, 'turns.start', { sessionId: id, message: `The bird of ${harness} is a heron.` })
    await expect.poll(() => texts(id)).toEqual([`I noted the heron of ${harness}.`])
  }
  const [first = '', second = '', third = ''] = ids
  const idle = async (server: Server, id: string) =>
    (await call<{ status: string }>(server, 'sessions.get', { sessionId: id })).status
  for (const id of ids) await expect.poll(() => idle(worker, id)).toBe('idle')

  // A copy of what each session is after its turn comes to the hub by itself.
  const copyOf = (id: string) => path.join(hub.home, 'fleet', 'copies', 'worker', `${id}.json`)
  const copied = async (id: string) => {
    const { lastSeq } = await call<{ lastSeq: number }>(worker, 'sessions.get', { sessionId: id })
    try {
      return (JSON.parse(readFileSync(copyOf(id), 'utf8')) as { seq: number }).seq === lastSeq
    } catch {
      return false
    }
  }
  for (const id of ids) await expect.poll(() => copied(id)).toBe(true)
  await expect(change(hub, 'fleet.takeover', { sessionId: first, to: 'hub' })).rejects.toThrow(
    /move-failed: .*is there/,
  )
  for (const [index, sessionId] of ids.entries()) {
    const asked = world.model.requests.length
    await change(worker, 'turns.start', { sessionId, message: `Watch the bird of ${AGENTS[index]}.` })
    await world.model.waitForRequest(
      request => request.state === 'stalled' && world.model.requests.indexOf(request) >= asked,
    )
  }
  for (const id of ids) await expect.poll(() => idle(hub, id)).toBe('running')
  worker.command.signal('SIGKILL')
  await worker.command.result()
  const stateOf = async () =>
    (await call<{ machine: string; state: string }[]>(hub, 'fleet.machines')).find(
      ({ machine }) => machine === 'worker',
    )?.state
  await expect.poll(stateOf, { timeout: 60_000 }).toBe('away')

  // From "gone" to "asked to go on".
  for (const [index, id] of ids.slice(0, 2).entries()) {
    const asked = world.model.requests.length
    const from = performance.now()
    if (index === 0) {
      const command = ['fleet', 'takeover', id, '--to', 'hub', '--json']
      const { code, stdout } = await world.start(command, hub.options).result()
      expect(code).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({ asked: true, problem: null })
    } else {
      const taken = await change(hub, 'fleet.takeover', { sessionId: id, to: 'hub' })
      expect(taken).toMatchObject({ asked: true, problem: null })
      console.log(`from "gone" to "asked to go on": ${Math.round(performance.now() - from)} ms`)
    }
    const request = await world.model.waitForRequest(
      one => world.model.requests.indexOf(one) >= asked && JSON.stringify(one.body).includes('Go on with'),
    )
    const body = JSON.stringify(request.body)
    expect(body).toContain(`I noted the heron of ${AGENTS[index]}.`)
    expect(body).toContain(`Watch the bird of ${AGENTS[index]}.`)
    await expect.poll(async () => (await texts(id)).at(-1)).toContain('On with it')
    const words = (await notices(id)).find(text => text.startsWith('Taken over by hub'))
    expect(words).toContain('because worker is gone')
    const { worktree } = await call<{ worktree: string }>(hub, 'sessions.get', { sessionId: id })
    const made = path.join(hub.home, 'worktrees', worktree, 'project')
    expect(readFileSync(path.join(made, 'bird.txt'), 'utf8')).toBe('heron\n')
  }

  // The same in the dashboard.
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(60_000)
  await page.goto(hub.link)
  await page.locator('.sheet').waitFor()
  await page.goto(`${hub.url}/s/${third}`)
  await page.getByRole('status').getByText('worker is away').waitFor()
  await page.getByRole('button', { name: 'Go on elsewhere…' }).click()
  await page.getByRole('button', { name: 'Continue on hub' }).click()
  await page.getByText('On with it', { exact: false }).first().waitFor()
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  expect(await idsOn(hub)).toEqual(expect.arrayContaining(ids))

  // It is back, with agents that were at work all the time.
  const back = await started(worker.start())
  for (const id of ids) {
    await expect
      .poll(() => notices(id), { timeout: 60_000 })
      .toContainEqual(expect.stringMatching(/^worker is back\. .*refs\/chirality\/orphan\//))
  }
  await expect.poll(() => idsOn(back)).toEqual([])
  expect(await idsOn(hub)).toEqual(expect.arrayContaining(ids))
  const kept = readdirSync(path.join(world.project, '.chirality', 'moved'))
  for (const id of ids) expect(kept.some(name => name.startsWith(id) && name.endsWith('.ndjson'))).toBe(true)
  const refs = git(world.project, 'for-each-ref', '--format=%(refname)', 'refs/chirality/orphan')
  for (const id of ids) expect(refs).toContain(id)
  await expect(change(back, 'turns.start', { sessionId: second, message: 'Me?' })).rejects.toThrow(
    /not-found/,
  )
  back.command.signal('SIGINT')
  expect((await back.command.result()).code).toBe(0)
  // The next server of that machine knows nothing of them, and sweeps what the killed one left.
  const next = await started(worker.start())
  expect(await idsOn(next)).toEqual([])
  for (const { command } of [next, hub]) {
    command.signal('SIGINT')
    expect((await command.result()).code).toBe(0)
  }
}, 600_000)
