import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Envelope } from '@chirality/core'
import { findByMarker, MARKER_VARIABLE } from '@chirality/runner'
import { readSessionLog } from '../../src/log/read-log.ts'
import { SessionStore } from '../../src/store/session-store.ts'
import { seeded } from './events.ts'
import { HostProgram } from './host-program.ts'

const AGENT = fileURLToPath(new URL('../programs/fast-agent.mjs', import.meta.url))
const PIECES = 40

export interface TurnKillReport {
  kills: number
  /** Messages that were taken: started or queued. */
  taken: number
  /** Events that a reader had seen. */
  seen: number
  /** What went wrong; empty is the promise. */
  problems: string[]
}

export interface TurnKillOptions {
  kills: number
  seed: number
  /** One agent for turn after turn, instead of one a turn. */
  keepAlive?: boolean
}

/** Kills a host again and again, in the middle of turns, queues and recoveries, and looks at what is left. */
export async function turnKillLoop(file: string, options: TurnKillOptions): Promise<TurnKillReport> {
  const root = mkdtempSync(join(tmpdir(), 'chirality-kill-'))
  try {
    return await run(file, root, options)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function run(
  file: string,
  root: string,
  { kills, seed, keepAlive = false }: TurnKillOptions,
): Promise<TurnKillReport> {
  const random = seeded(seed)
  const project = join(root, 'project')
  mkdirSync(project)
  mkdirSync(join(root, 'tmp'))
  const marker = `kill-loop-${process.pid}-${seed}-${keepAlive}`
  const environment = {
    PATH: '/usr/bin:/bin',
    HOME: root,
    TMPDIR: join(root, 'tmp'),
    [MARKER_VARIABLE]: marker,
  }
  const data = join(root, 'data')
  const { id: sessionId } = await new SessionStore({ home: data }).create(project, null, 'direct')
  const base = { project, data, sessionId, binary: agent(root), environment, keepAlive }
  const taken: string[] = []
  let seen = 0
  for (let round = 0; round < kills; round += 1) {
    const message = `m${round}`
    const host = new HostProgram(file, { ...base, message })
    const lines = random(30)
    await host.until((line, all) => 'settled' in line || all.length >= lines)
    await host.kill()
    for (const line of host.lines) {
      if ('sent' in line) taken.push(String(line.sent))
      if (Array.isArray(line.seqs)) seen = Math.max(seen, ...line.seqs)
    }
  }
  const last = new HostProgram(file, { ...base, release: true, until: 'settled' })
  const code = await last.exited
  const problems = code === 0 ? [] : [`the last host ended with ${code}: ${last.errors}`]
  const log = await readSessionLog(project, sessionId)
  const envelopes = log?.readAfter(0, log.lastSeq, { maxBytes: Number.POSITIVE_INFINITY }) ?? []
  log?.close()
  if (envelopes.length < seen)
    problems.push(`a reader had seen ${seen} events, the log has ${envelopes.length}`)
  problems.push(...judge(envelopes, taken, keepAlive))
  const left = await findByMarker(marker)
  if (left.length > 0) problems.push(`${left.length} processes left`)
  for (const { pid } of left) process.kill(pid, 'SIGKILL')
  return { kills, taken: taken.length, seen, problems }
}

/** Every message that was taken has one turn, every turn one end, and every word of its agent is there once. */
function judge(envelopes: Envelope[], taken: string[], keepAlive: boolean): string[] {
  const problems: string[] = []
  const turns = new Map<string, Envelope[]>()
  for (const envelope of envelopes) {
    const { turnId, event } = envelope
    if (turnId === null) {
      if (event.type === 'log:gap') problems.push('a line was torn or lost')
      continue
    }
    turns.set(turnId, [...(turns.get(turnId) ?? []), envelope])
  }
  const messages = [...turns.values()].flatMap(turn =>
    turn.flatMap(({ event }) => (event.type === 'turn:start' ? [event.message] : [])),
  )
  for (const message of taken) {
    const count = messages.filter(other => other === message).length
    if (count !== 1) problems.push(`message ${message} has ${count} turns`)
  }
  if (new Set(messages).size !== messages.length) problems.push('a message was sent twice')
  for (const turn of turns.values()) problems.push(...judgeTurn(turn, keepAlive))
  return problems
}

function judgeTurn(turn: Envelope[], keepAlive: boolean): string[] {
  const problems: string[] = []
  const events = turn.map(({ event }) => event)
  const of = (type: string) => events.filter(event => event.type === type)
  const start = events.find(event => event.type === 'turn:start')
  const message = start?.type === 'turn:start' ? start.message : 'unknown'
  if (of('turn:start').length !== 1) problems.push(`${of('turn:start').length} starts of ${message}`)
  const ends = events.flatMap(event => (event.type === 'turn:end' ? [event.reason] : []))
  // A host can die before the message is in the pipe of an agent that is kept. Then nothing was said, and that is told.
  const isUnheard = keepAlive && ends.length === 1 && ends[0] === 'crashed' && of('session:init').length === 0
  if (isUnheard) return [...problems, ...of('chat:delta').map(() => `${message} was answered unheard`)]
  if (ends.length !== 1 || ends[0] !== 'completed') problems.push(`${message} ended ${JSON.stringify(ends)}`)
  const text = events.map(event => (event.type === 'chat:delta' ? event.text : '')).join('')
  const expected = Array.from({ length: PIECES }, (_, n) => `${message}-${n} `).join('')
  if (text !== expected) problems.push(`${message} said ${text}`)
  // A process that is kept ends with no turn, but for one that is found again.
  const once = keepAlive ? ONCE : [...ONCE, 'process:exit']
  for (const type of once) {
    if (of(type).length !== 1) problems.push(`${message} has ${of(type).length} times ${type}`)
  }
  return problems
}

const ONCE = ['session:init', 'chat:message', 'usage', 'chat:complete', 'session:complete']

function agent(root: string): string {
  const file = join(root, 'agent')
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${AGENT}' ${PIECES} "$@"\n`)
  chmodSync(file, 0o755)
  return file
}
