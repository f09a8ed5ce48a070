import path from 'node:path'
import type { HarnessTurnOpts, SessionHarness, UIEvent } from '@chirality/core'
import { afterEach } from 'vitest'
import { type AcpAgentSpec, acpDescriptor } from '../../src/acp/agent-spec.ts'
import { acpHarness } from '../../src/acp/harness.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { useArena } from '../cross-harness/arena.ts'

/** Agents of the protocol that behave as a test says. The arena checks that no process is left. */
export function useFakeAgents() {
  const arena = useArena()
  const open: SessionHarness[] = []
  // Registered later, so run earlier: the arena finds no process then.
  afterEach(async () => {
    await Promise.all(open.splice(0).map(harness => harness.close()))
  })

  function create(
    behaviour: string,
    {
      command = path.resolve('test/programs/fake-acp.mjs'),
      spec: more = {},
      conversationsMs,
    }: { command?: string; spec?: Partial<AcpAgentSpec>; conversationsMs?: number } = {},
  ): SessionHarness {
    const spec = { name: 'fake', command, args: [], env: ['FAKE_ACP', 'FAKE_FOLDER'], ...more }
    const { meta, capabilities } = acpDescriptor(spec)
    const harness = acpHarness({
      spec,
      meta,
      capabilities,
      options: {
        environment: {
          PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`,
          HOME: arena.place.home,
          FAKE_ACP: behaviour,
          FAKE_FOLDER: arena.project,
          [MARKER_VARIABLE]: arena.marker,
        },
        // Only the agent that never answers is waited for in vain.
        ...(behaviour === 'silent' ? { handshakeMs: 500 } : {}),
        ...(conversationsMs === undefined ? {} : { conversationsMs }),
        stop: { interruptGraceMs: behaviour === 'deaf' ? 100 : 60_000, termGraceMs: 100 },
      },
    })
    open.push(harness)
    return harness
  }

  async function turn(behaviour: string, opts: HarnessTurnOpts = {}): Promise<UIEvent[]> {
    const harness = create(behaviour)
    const events = await collect(harness, 'Hi', opts)
    await harness.close()
    return events
  }

  async function collect(
    harness: SessionHarness,
    message: string,
    opts: HarnessTurnOpts = {},
    session = arena.session(),
  ): Promise<UIEvent[]> {
    const events: UIEvent[] = []
    for await (const event of harness.startTurn(session, message, opts)) {
      if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
      events.push(event)
    }
    return events
  }

  return { arena, create, turn, collect }
}
