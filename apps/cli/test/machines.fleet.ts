import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Envelope } from '@chirality/core'
import { expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../.scripts/browser.ts'
import { call, change, freePort, natsServer, started } from './support/fleet.ts'
import { createWorld } from './support/world.ts'

test('a session on one machine is seen, answered and stopped on another, and read there when its machine is gone', async () => {
  const world = await createWorld({
    answers: [
      ...['Hello from the worker.', 'And again.'],
      ...[
        { text: 'This takes its time.', stallAfter: 1 },
        { text: 'This, too.', stallAfter: 1 },
      ],
    ],
    otherwise: 'ok',
  })
  const nats = await natsServer()
  const folders = ['hub-home', 'worker-home', 'hub-project', 'other-project'].map(name =>
    path.join(world.home, name),
  )
  for (const folder of folders) mkdirSync(folder)
  const [hubHome = '', workerHome = '', hubProject = '', otherProject = ''] = folders
  const onHub = { env: { CHIRALITY_HOME: hubHome, CHIRALITY_NATS_BIN: nats } }
  const onWorker = { env: { CHIRALITY_HOME: workerHome } }
  const printed = async <T>(args: string[], options: object) => {
    const { code, stdout, stderr } = await world.start([...args, '--json'], options).result()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout) as T
  }

  const port = String(await freePort())
  const fleet = await printed<{ url: string; fingerprint: string }>(
    ['fleet', 'init', '--name', 'hub', '--port', port],
    onHub,
  )
  const serve = ['serve', '--json', '--port', '0', '--no-open', '--fleet', fleet.url, '--project', hubProject]
  const hub = await started(world.start(serve, onHub))
  const { code, fingerprint } = await printed<{ code: string; fingerprint: string }>(
    ['fleet', 'invite'],
    onHub,
  )
  expect(fingerprint).toBe(fleet.fingerprint)
  const joined = await printed<{ fingerprint: string; key: string }>(
    ['fleet', 'join', code, '--name', 'worker'],
    onWorker,
  )
  expect(joined.fingerprint).toBe(fleet.fingerprint)
  await expect.poll(() => hub.command.stderr).toContain(joined.key)
  const again = await world
    .start(['fleet', 'join', code, '--name', 'thief'], { env: { CHIRALITY_HOME: hubProject } })
    .result()
  expect(again.code).not.toBe(0)

  const workIn = (project: string) => [
    ...['worker', '--json', '--fleet', fleet.url, '--label', 'gpu', '--slots', '3', '--project', project],
  ]
  writeFileSync(path.join(world.project, 'only-on-the-worker.txt'), 'here')
  const work = workIn(world.project)
  let worker = await started(world.start(work, onWorker))
  const machines = () =>
    call<{ machine: string; state: string; labels: string[]; slots: number }[]>(hub, 'fleet.machines')
  await expect.poll(machines).toMatchObject([
    { machine: 'hub', state: 'here' },
    { machine: 'worker', state: 'here', labels: ['gpu'], slots: 3 },
  ])

  // A turn that the worker's own user starts is seen on the hub.
  const { id } = await change<{ id: string }>(worker, 'sessions.create', { project: world.project })
  await change(worker, 'turns.start', { sessionId: id, message: 'Hi' })
  const history = () => call<Envelope[]>(hub, 'sessions.history', { sessionId: id })
  const texts = async () =>
    (await history().catch(() => [])).flatMap(({ event }) =>
      event.type === 'chat:message' ? [event.text] : [],
    )
  await expect.poll(texts).toEqual(['Hello from the worker.'])
  const listed = await call<{ sessions: { id: string; machine?: object }[] }>(hub, 'sessions.list', {})
  expect(listed.sessions).toMatchObject([{ id, machine: { name: 'worker', state: 'here' } }])

  // The hub talks to the agent, and stops it.
  const isIdle = async () => (await call<{ status: string }>(hub, 'sessions.get', { sessionId: id })).status
  await expect.poll(isIdle).toBe('idle')
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(60_000)
  await page.goto(hub.link)
  await page.getByText('project on worker').first().waitFor()
  await page.goto(`${hub.url}/s/${id}`)
  await page.getByText('Hello from the worker.').first().waitFor()
  await page.getByRole('textbox', { name: 'Message' }).fill('Once more')
  await page.keyboard.press('Enter')
  await page.getByText('And again.').first().waitFor()
  await expect.poll(texts).toEqual(['Hello from the worker.', 'And again.'])

  // Files are read where they are; conversations are searched here.
  const place = { project: world.project, sessionId: id }
  const tree = await call<{ entries: { name: string }[] }>(hub, 'files.tree', { ...place, path: '' })
  expect(JSON.stringify(tree)).toContain('only-on-the-worker.txt')
  const { hits } = await call<{ hits: object[] }>(hub, 'sessions.search', { query: '"from the worker"' })
  expect(hits[0]).toMatchObject({ sessionId: id, projectRoot: world.project })

  // A new session goes where its project is, and says why.
  const placed = () =>
    call<{ machine: string; why: string }>(hub, 'fleet.place', {
      ...{ harness: 'claude-code', project: world.project },
    })
  await expect.poll(placed).toMatchObject({ machine: 'worker', why: expect.stringContaining('slots free') })
  const made = await change<{ id: string }>(hub, 'sessions.create', {
    ...{ project: world.project, machine: 'worker', title: 'Made from the hub' },
  })
  expect(await call(worker, 'sessions.get', { sessionId: made.id })).toMatchObject({
    title: 'Made from the hub',
  })
  expect(await call(hub, 'sessions.get', { sessionId: made.id })).toMatchObject({
    machine: { name: 'worker', state: 'here' },
  })
  await expect.poll(isIdle).toBe('idle')
  await change(hub, 'turns.send', { sessionId: id, message: 'Slowly' })
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  await change(hub, 'turns.interrupt', { sessionId: id })
  const ends = async () =>
    (await history()).flatMap(({ event }) => (event.type === 'turn:end' ? [event.reason] : []))
  await expect.poll(ends).toEqual(['completed', 'completed', 'interrupted'])
  const process = { sessionId: id, pid: 1, startedAt: 'x' }
  await expect(change(hub, 'system.endProcess', process)).rejects.toThrow(/unsupported: .*machine worker/)
  const source = path.join(world.project, '.chirality', 'events', `${id}.ndjson`)
  const mirrored = path.join(hubHome, 'fleet', 'mirrors', 'worker', '.chirality', 'events', `${id}.ndjson`)
  await expect.poll(() => readFileSync(mirrored, 'utf8') === readFileSync(source, 'utf8')).toBe(true)
  const { stdout } = await world.start(['fleet', 'status'], onHub).result()
  expect(stdout).toMatch(/worker +here +worker +\d\/3 busy/)

  // Killed in the middle of a turn and started with another project, it does not leave the hub with a turn that runs.
  const asked = world.model.requests.length
  await change(hub, 'turns.send', { sessionId: id, message: 'Slowly, again' })
  await world.model.waitForRequest(
    request => request.state === 'stalled' && world.model.requests.indexOf(request) >= asked,
  )
  await expect.poll(isIdle).toBe('running')
  worker.command.signal('SIGKILL')
  await worker.command.result()
  expect(await isIdle()).toBe('running')
  const elsewhere = await started(world.start(workIn(otherProject), onWorker))
  await expect.poll(isIdle).toBe('idle')
  elsewhere.command.signal('SIGINT')
  await elsewhere.command.result()
  worker = await started(world.start(work, onWorker))
  await expect.poll(() => change(hub, 'turns.kill', { sessionId: id }).then(() => ends())).toHaveLength(4)

  // Its machine is gone: what it said is still there, and nothing is done twice or pretended.
  const said = await texts()
  worker.command.signal('SIGKILL')
  await worker.command.result()
  await expect.poll(machines).toMatchObject([{}, { machine: 'worker', state: 'away' }])
  await expect(change(hub, 'turns.send', { sessionId: id, message: 'Lost?' })).rejects.toThrow(
    /machine-away: .*Nothing was done/,
  )
  expect(await texts()).toEqual(said)
  await page.getByRole('status').getByText('worker is away').waitFor()
  expect(await page.getByRole('textbox', { name: 'Message' }).count()).toBe(0)

  // A machine whose rights were taken away is not let in.
  await page.goto(`${hub.url}/settings/machines`)
  await page.getByRole('button', { name: 'Invite a machine' }).click()
  await page.getByText(/^chirality fleet join /).waitFor()
  await page.getByRole('button', { name: 'Revoke worker…' }).click()
  await page.getByRole('button', { name: 'Revoke worker', exact: true }).click()
  await page.locator('.machine').getByText('rights taken away').waitFor()
  const refused = await started(world.start(work, onWorker))
  await expect.poll(() => refused.command.stderr).toContain('does not let this machine in')
  for (const { command } of [refused, hub]) {
    command.signal('SIGINT')
    expect((await command.result()).code).toBe(0)
  }
}, 600_000)
