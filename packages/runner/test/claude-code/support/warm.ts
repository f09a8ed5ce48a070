import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, Session, TurnProcess, UIEvent } from '@chirality/core'
import type { ClaudeCodeHarness } from '../../../src/claude-code/harness.ts'
import { fileAppears } from './events.ts'
import { type HarnessOptions, useWorld, type World } from './world.ts'

/** A conversation with an agent that is kept between turns. */
export interface Chat {
  harness: ClaudeCodeHarness
  session: Session
  /** All events of a turn; the session learns its native id, as a store would see to. */
  turn(message: string, opts?: HarnessTurnOpts): Promise<UIEvent[]>
  /** The same as it happens. */
  events(message: string, opts?: HarnessTurnOpts): AsyncGenerator<UIEvent>
  /** The processes that the turns ran in, one for each. */
  processes: TurnProcess[]
  pids(): number[]
}

export interface WarmWorld extends World {
  fileAppears(file: string): Promise<void>
  /** What the model says to start a command in the background, and what lets that command end. */
  background(): { answer: { tool: string; input: Record<string, unknown> }; end(): void }
  chat(options?: HarnessOptions & { with?: ClaudeCodeHarness; session?: Session; binary?: string }): Chat
}

export function useWarmWorld(defaultBinary: string): WarmWorld {
  const world = useWorld()
  const chat: WarmWorld['chat'] = ({
    with: other,
    session = world.session(),
    binary = defaultBinary,
    ...options
  } = {}) => {
    const harness = other ?? world.harness(binary, { keepAlive: true, ...options })
    world.atEnd(() => harness.close())
    const processes: TurnProcess[] = []
    async function* events(message: string, opts: HarnessTurnOpts = {}): AsyncGenerator<UIEvent> {
      const onProcess = (process: TurnProcess) => void processes.push(process)
      for await (const event of harness.startTurn(session, message, { onProcess, ...opts })) {
        if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
        yield event
      }
    }
    const turn: Chat['turn'] = async (message, opts) => {
      const all: UIEvent[] = []
      for await (const event of events(message, opts)) all.push(event)
      return all
    }
    return { harness, session, turn, events, processes, pids: () => processes.map(({ pid }) => pid) }
  }
  const background: WarmWorld['background'] = () => {
    const go = path.join(world.project, 'go')
    const command = `while [ ! -e ${go} ]; do sleep 0.05; done`
    const answer = { tool: 'Bash', input: { command, description: 'x', run_in_background: true } }
    return { answer, end: () => writeFileSync(go, '') }
  }
  return Object.assign(world, { chat, fileAppears, background })
}

/** As root it wants to be told that it may. */
export const BYPASS = { permissionMode: 'bypassPermissions', env: { IS_SANDBOX: '1' } } as const
