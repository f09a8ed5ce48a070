// Runs docs/fleet.md: each line of its `sh` blocks, on the machine that the block names.
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Envelope } from '@chirality/core'
import { afterAll, expect, test } from 'vitest'
import { natsServer } from './support/fleet.ts'
import type { RunningCommand } from './support/running-command.ts'
import { type MachineName, type TestMachine, threeMachines } from './support/three-machines.ts'
import { createWorld } from './support/world.ts'

interface Command {
  section: string
  machine: MachineName
  line: string
}

const COMMANDS = readCommands(readFileSync(new URL('../../../docs/fleet.md', import.meta.url), 'utf8'))
const left = new Set(COMMANDS)

function readCommands(document: string): Command[] {
  return document.split(/^## /m).flatMap(part => {
    const section = part.split('\n')[0] ?? ''
    return [...part.matchAll(/^```sh *(.*)\n([\s\S]*?)^```/gm)].flatMap(([, machine = '', block = '']) => {
      if (!['hub', 'build-1', 'build-2'].includes(machine))
        throw new Error(`A block under "${section}" names no machine: ${block}`)
      const lines = block.trimEnd().split('\n')
      return lines.map(line => ({ section, machine: machine as MachineName, line }))
    })
  })
}

afterAll(() => {
  expect(
    [...left].map(({ line }) => line),
    'commands of docs/fleet.md that no test ran',
  ).toEqual([])
})

/** The next command of the document that begins so. */
function next(machine: MachineName, beginning: string): Command {
  const found = [...left].find(command => command.machine === machine && command.line.startsWith(beginning))
  if (found === undefined) throw new Error(`docs/fleet.md has no such command: ${machine}: ${beginning}`)
  left.delete(found)
  return found
}

type Machines = Record<MachineName, TestMachine>

const has = (stdout: string, pattern: RegExp) => {
  const [, found] = pattern.exec(stdout) ?? []
  expect(found, `${pattern} in ${stdout}`).toBeTypeOf('string')
  return found ?? ''
}

interface Listed {
  machine: string
  state: string
  agents: unknown[]
}

const seen = async ({ hub }: Machines, name: string) => {
  const machines = await hub.call<Listed[]>('fleet.machines')
  const { state, agents = [] } = machines.find(({ machine }) => machine === name) ?? {}
  return state === 'here' && agents.length === 0 ? 'here, agents not known' : state
}

async function letJoin(machines: Machines, name: 'build-1' | 'build-2', server: RunningCommand) {
  const { hub } = machines
  const invited = await hub.run(next('hub', 'chirality fleet invite').line)
  const code = has(invited, /chirality fleet join (\S+)/)
  const joined = await machines[name].run(next(name, 'chirality fleet join CODE').line.replace('CODE', code))
  const certificate = has(invited, /Certificate of the fleet: (\S+)/)
  expect(joined).toContain(certificate)
  // The fingerprint of the machine's key, on both sides.
  const key = has(joined, /Key of this machine: +(\S+)/)
  await expect.poll(() => server.stderr).toContain(`The machine ${name} joined. Its key is ${key}.`)
  expect(await hub.run('chirality fleet status')).toContain(key)
  const work = next(name, 'chirality worker').line
  const worker = machines[name].start(work)
  await worker.shows('works for the fleet')
  await expect.poll(() => seen(machines, name)).toBe('here')
  return worker
}

test('three machines by the commands of the guide: a session is placed, moved, taken over, and a machine is put out', async () => {
  const world = await createWorld({
    answers: ['I noted the heron.', 'Still a heron.', 'A heron, back again.', 'On with the heron.'],
    otherwise: 'ok',
  })
  const machines = await threeMachines(world, { CHIRALITY_NATS_BIN: await natsServer() })
  const { hub } = machines
  const made = await hub.run(next('hub', 'chirality fleet init --name hub').line)
  const server = hub.start(next('hub', 'chirality serve --fleet').line)
  await server.shows('Chirality is at')
  const first = await letJoin(machines, 'build-1', server)
  const second = await letJoin(machines, 'build-2', server)
  const status = await hub.run(next('hub', 'chirality fleet status').line)
  expect(status).toContain(has(made, /Its certificate: (\S+)/))
  for (const name of ['build-1', 'build-2']) expect(status).toMatch(new RegExp(`^${name} +here +worker`, 'm'))

  // New session, Where: build-1.
  const project = path.join(machines['build-1'].home, 'src', 'shop')
  const { id } = await hub.call<{ id: string }>(
    ...(['sessions.create', { project, machine: 'build-1', harness: 'claude-code' }, 'POST'] as const),
  )
  const texts = async () => {
    const history = await hub.call<Envelope[]>('sessions.history', { sessionId: id }).catch(() => [])
    return history.flatMap(({ event }) => (event.type === 'chat:message' ? [event.text] : []))
  }
  const onMachine = async () => {
    const session = await hub.call<{ status: string; machine?: { name: string } }>('sessions.get', {
      sessionId: id,
    })
    return `${session.status} on ${session.machine?.name ?? 'hub'}`
  }
  const say = (message: string) => hub.call('turns.send', { sessionId: id, message }, 'POST')
  await say('The bird is a heron.')
  await expect.poll(texts).toEqual(['I noted the heron.'])
  await expect.poll(onMachine).toBe('idle on build-1')

  const runOf = async (command: Command) => hub.run(command.line.replace('SESSION', id))
  expect(await runOf(next('hub', 'chirality fleet move'))).toContain('on build-2 now')
  await expect.poll(onMachine).toBe('idle on build-2')
  await say('Which bird?')
  await expect.poll(texts).toEqual(['I noted the heron.', 'Still a heron.'])
  const bodies = world.model.requests.map(({ body }) => JSON.stringify(body))
  expect(bodies.some(body => body.includes('I noted the heron.') && body.includes('Which bird?'))).toBe(true)
  await expect.poll(onMachine).toBe('idle on build-2')
  expect(await runOf(next('hub', 'chirality fleet drain'))).toContain(
    '1 of 1 sessions of build-2 are on build-1 now',
  )
  await expect.poll(onMachine).toBe('idle on build-1')
  await say('And now?')
  await expect.poll(texts).toHaveLength(3)
  await expect.poll(onMachine).toBe('idle on build-1')

  // No move of it is unfinished. `moves.test.ts` of the fleet has those whose target is gone.
  const kept = await hub.start(next('hub', 'chirality fleet keep').line.replace('SESSION', id)).result()
  expect(kept).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not being moved: it can be used where it is'),
  })

  // The machine that has it is gone.
  const copy = path.join(hub.home, '.local/share/chirality/fleet/copies/build-1', `${id}.json`)
  await expect.poll(() => existsSync(copy)).toBe(true)
  first.signal('SIGKILL')
  await first.result()
  await expect.poll(() => seen(machines, 'build-1')).toBe('away')
  expect(await runOf(next('hub', 'chirality fleet takeover'))).toContain('on build-2 now')
  await expect.poll(onMachine).toBe('idle on build-2')

  expect(await hub.run(next('hub', 'chirality fleet revoke').line)).toContain('can no longer connect')
  await expect.poll(() => second.stderr).toContain('Its rights were taken away')
  expect(await machines['build-2'].run('chirality fleet status')).toContain('It is not connected')
  second.signal('SIGINT')
  expect((await second.result()).code).toBe(0)
  expect(await machines['build-2'].run(next('build-2', 'chirality fleet leave').line)).toContain(
    'no longer the worker build-2',
  )
  // The session that it took over goes with it.
  expect(await hub.run(next('hub', 'chirality fleet forget').line)).toContain('build-2 is forgotten, with')
  expect(await hub.run('chirality fleet status')).not.toContain('build-2')
  expect(await hub.run('chirality sessions list --all')).not.toContain('build-2')
  server.signal('SIGINT')
  expect((await server.result()).code).toBe(0)
}, 600_000)

test('three brokers by the commands of the guide: started from their folders, they carry a session when one is gone', async () => {
  const world = await createWorld({ answers: ['Hello from build-1.', 'And again.'], otherwise: 'ok' })
  const nats = await natsServer()
  const machines = await threeMachines(world, {})
  const { hub } = machines
  const made = await hub.run(next('hub', 'chirality fleet init --nodes').line)
  const url = has(made, /chirality serve --fleet (\S+)/)
  const brokers = Object.entries(machines).map(([name, machine], at) => {
    // In place of the scp that it prints.
    const folder = has(made, new RegExp(`scp -r (\\S+node-${at + 1}) `))
    cpSync(folder, path.join(machine.home, 'chirality-broker'), { recursive: true })
    const unit = readFileSync(path.join(machine.home, 'chirality-broker', 'chirality-broker.service'), 'utf8')
    const exec = has(unit, /^ExecStart=(.*)$/m)
    expect(has(unit, /^WorkingDirectory=(.*)$/m)).toBe('%h/chirality-broker')
    return {
      name,
      command: machine.start(`cd ~/chirality-broker && PATH=${path.dirname(nats)}:$PATH exec ${exec}`),
    }
  })
  const server = hub.start(`chirality serve --fleet ${url} --project ~/src/shop`)
  await server.shows('Chirality is at')
  const invited = await hub.run('chirality fleet invite')
  const worker = machines['build-1']
  await worker.run(`chirality fleet join ${has(invited, /chirality fleet join (\S+)/)} --name build-1`)
  const working = worker.start(`chirality worker --fleet ${url} --project ~/src/shop`)
  await working.shows('works for the fleet')
  await expect.poll(() => seen(machines, 'build-1')).toBe('here')
  const project = path.join(worker.home, 'src', 'shop')
  const { id: sessionId } = await hub.call<{ id: string }>(
    ...(['sessions.create', { project, machine: 'build-1', harness: 'claude-code' }, 'POST'] as const),
  )
  const texts = async () => {
    const history = await hub.call<Envelope[]>('sessions.history', { sessionId }).catch(() => [])
    return history.flatMap(({ event }) => (event.type === 'chat:message' ? [event.text] : []))
  }
  await hub.call('turns.send', { sessionId, message: 'Hi' }, 'POST')
  await expect.poll(texts).toEqual(['Hello from build-1.'])
  brokers[1]?.command.signal('SIGKILL')
  await brokers[1]?.command.result()
  const isIdle = async () => (await hub.call<{ status: string }>('sessions.get', { sessionId })).status
  await expect.poll(isIdle).toBe('idle')
  const sent = () =>
    hub.call('turns.send', { sessionId, message: 'Once more' }, 'POST').then(
      () => true,
      () => false,
    )
  await expect.poll(sent).toBe(true)
  await expect.poll(texts).toContain('And again.')
  for (const command of [working, server]) {
    command.signal('SIGINT')
    expect((await command.result()).code).toBe(0)
  }
  for (const { command } of brokers) command.signal('SIGTERM')
  for (const { command } of brokers) await command.result()
  // What a broker stores is in its own folder.
  expect(readdirSync(path.join(hub.home, 'chirality-broker'))).toContain('store')
}, 600_000)
