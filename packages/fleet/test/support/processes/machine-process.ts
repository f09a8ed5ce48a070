// One machine in a process of its own, so that its CPU time is its own. `home project [fleet]`; commands come by IPC.
import { mkdirSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetLocal } from '@chirality/centre'
import type { Envelope, SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { readMember } from '../../../src/engine/fleet-files.ts'
import { Link } from '../../../src/engine/link.ts'
import { FleetMember } from '../../../src/fleet-member.ts'
import { logPath } from '../../../src/ship/shipper.ts'
import { subjects } from '../../../src/subjects.ts'
import type { Command, Reply, StoredPart } from './protocol.ts'
import { SpeakingAgent } from './speaking-agent.ts'

const [home = '', project = '', fleet] = process.argv.slice(2)
mkdirSync(project, { recursive: true })
const agent = new SpeakingAgent()
const harnesses = new HarnessRegistry<SessionHarness>()
harnesses.register(agent)
const host = new SessionHost({ harnesses, address: '', home })
await host.openProject(project)
const sessionIds = await owned()
const member = fleet === undefined ? undefined : await FleetMember.open({ home, onFault: console.error })
member?.start(local())
const lags: number[] = []
/** Beside the member's: a test looks at the brokers themselves. */
let looking: Promise<Link> | undefined
let parts: StoredPart[] | undefined
let received = 0

process.on('message', (command: Command) => {
  void run(command).then(
    reply => process.send?.(reply),
    (error: unknown) => process.send?.({ error: String(error) } satisfies Reply),
  )
})
process.on('disconnect', () => process.exit())
process.send?.({})

function local(): FleetLocal {
  return {
    host,
    version: '0',
    onRemoved: () => () => {},
    left: () => {},
    isDiscarded: () => false,
    toldByWork: () => undefined,
    spent: async () => [],
    agents: async () => [{ id: agent.id, name: 'Speaking', installed: true, loggedIn: true, version: null }],
    repositories: async () => host.projects().map(root => ({ root, key: 'project' })),
    answer: async ({ path, input }) => {
      const { sessionId, message } = input as { sessionId: string; message: string }
      if (path === 'sessions.get') return host.store.get(sessionId)
      if (path === 'turns.start') return void (await (await host.session(sessionId)).start(message))
      throw new Error(`no call ${path}`)
    },
  }
}

async function run(command: Command): Promise<Reply> {
  switch (command.do) {
    case 'create':
      await Promise.all(
        Array.from({ length: command.sessions }, async () => {
          const { id } = await host.createSession(project, { harness: agent.id })
          sessionIds.push(id)
          // With the first turn of a session the hubs hear of it.
          await (await host.session(id)).start('Hello')
        }),
      )
      await idle()
      return { sessionIds }
    case 'speak':
      return speak(command)
    case 'turn': {
      const session = await host.session(command.sessionId)
      await session.start(command.message)
      return {}
    }
    case 'stop': {
      const sessions = await Promise.all(sessionIds.map(id => host.session(id)))
      await Promise.all(sessions.map(session => session.interrupt()))
      await idle()
      await Promise.all(sessions.map(({ log }) => log.flush()))
      return { sessionIds }
    }
    case 'running':
      return { running: sessionIds.filter(id => agent.isRunning(id)), sessionIds: await owned() }
    case 'info':
      return { readOnly: member?.info().readOnly ?? null }
    case 'asked':
      return new Promise(resolve => {
        agent.onTurn = message => resolve({ message, at: Date.now() })
      })
    case 'knows':
      return { sessionIds: (member?.sessions() ?? []).map(({ session }) => session.id) }
    case 'follow':
      for (const id of command.sessionIds) void follow(id)
      return {}
    case 'received':
      return { received, lags }
    case 'machines':
      return { states: Object.fromEntries((member?.machines() ?? []).map(one => [one.machine, one.state])) }
    case 'takeover': {
      const at = Date.now()
      const taken = await member?.takeover(command.sessionId, command.to, true)
      return { at, steps: taken?.steps ?? [] }
    }
    case 'call': {
      const { sessionId, message } = command
      await member?.call(member.machineOf(sessionId) ?? '', {
        path: 'turns.start',
        input: { sessionId, message },
      })
      return {}
    }
    case 'echo': {
      const link = await Link.open(command.member)
      link.serve(subjects.calls(command.member.machine), async body => body)
      return {}
    }
    case 'parts': {
      if (parts === undefined) await collectParts()
      return { parts: parts ?? [] }
    }
    case 'claim': {
      const link = await lookingLink()
      const claimed = await link.publish(subjects.claim(command.work), Buffer.from(home), { after: 0 }).then(
        ({ kind }) => kind,
        () => 'unknown' as const,
      )
      return { claimed }
    }
    case 'usage':
      return { cpuMs: cpuMs() }
  }
}

/** The sessions that this machine has now. */
async function owned(): Promise<string[]> {
  return (await host.store.list(project)).map(({ id }) => id)
}

async function speak(command: Extract<Command, { do: 'speak' }>): Promise<Reply> {
  agent.speech = command
  agent.spoken = 0
  const sessions = await Promise.all(sessionIds.map(id => host.session(id)))
  const [before, from] = [cpuMs(), performance.now()]
  await Promise.all(sessions.map(session => session.start('Speak')))
  await idle()
  const reply = { cpuMs: cpuMs() - before, ms: performance.now() - from, events: agent.spoken }
  const sizes: Record<string, { seq: number; bytes: number }> = {}
  for (const { log } of sessions) {
    await log.flush()
    sizes[log.sessionId] = { seq: log.lastSeq, bytes: statSync(logPath(project, log.sessionId)).size }
  }
  return { ...reply, sizes }
}

function lookingLink(): Promise<Link> {
  looking ??= readMember(home).then(own => {
    if (own === undefined) throw new Error(`${home} is in no fleet.`)
    return Link.open(own)
  })
  return looking
}

async function collectParts(): Promise<void> {
  const found: StoredPart[] = []
  parts = found
  const link = await lookingLink()
  link.follow('events', 1, async ({ subject, headers }) => {
    const [from, to] = ['Chi-From', 'Chi-To'].map(name => Number(headers[name])) as [number, number]
    found.push({ subject, from, to, generation: headers['Chi-Generation'] ?? '' })
  })
}

/** Resolves when no turn runs. */
async function idle(): Promise<void> {
  while (host.statuses().some(({ phase }) => phase !== 'idle')) await sleep(20)
}

/** Reads the mirrored log of another machine's session as a page does, and notes how late each event is. */
async function follow(sessionId: string): Promise<void> {
  const log = await member?.log(sessionId)
  for await (const batch of log?.subscribe(0) ?? []) {
    const now = Date.now()
    for (const { at, event } of batch as Envelope[]) {
      received += 1
      if (event.type === 'chat:delta') lags.push(now - Date.parse(at))
    }
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
