import type { HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import type { Script, ScriptedModel } from '@chirality/scripted-model'
import { expect } from 'vitest'
import type { MessagesApiHarnessConfig } from '../../../src/messages-api/config.ts'
import { MessagesApiHarness } from '../../../src/messages-api/harness.ts'
import { MARKER_VARIABLE } from '../../../src/process/system/leftovers.ts'
import { processEnv } from '../../../src/process/system/process-env.ts'
import { collect, ofType } from '../../support/turns.ts'
import { type BareWorld, PATIENT, useBareWorld } from '../../support/world.ts'

export interface ApiWorld extends BareWorld {
  /** Starts the scripted model and a harness on it; both end with the test. */
  open(
    script: Script,
    config?: MessagesApiHarnessConfig,
  ): Promise<{ model: ScriptedModel; harness: MessagesApiHarness }>
  environment(model: Pick<ScriptedModel, 'url'>): Record<string, string>
}

export const DUMMY_KEY = 'sk-ant-not-a-real-key-000000'

export function useApiWorld(): ApiWorld {
  const world = useBareWorld('messages-api')
  const environment = (model: Pick<ScriptedModel, 'url'>) => ({
    PATH: processEnv().PATH ?? '/usr/bin:/bin',
    HOME: world.home,
    TMPDIR: world.temporary,
    ANTHROPIC_API_KEY: DUMMY_KEY,
    ANTHROPIC_BASE_URL: model.url,
    [MARKER_VARIABLE]: world.marker,
  })
  return Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(world),
      environment: { value: environment },
      open: {
        value: async (script: Script, config: MessagesApiHarnessConfig = {}) => {
          const model = await world.model(script)
          const onLog: MessagesApiHarnessConfig['onLog'] = entry => void world.logs.push(entry)
          const harness = new MessagesApiHarness({
            environment: environment(model),
            onLog,
            stop: PATIENT,
            ...config,
          })
          world.atEnd(() => harness.close())
          return { model, harness }
        },
      },
    },
  ) as ApiWorld
}

/** All events of a turn; the session learns its native id, as a store would see to. */
export async function turnOf(
  harness: MessagesApiHarness,
  session: Session,
  ...[message, opts = {}]: [string, HarnessTurnOpts?]
): Promise<UIEvent[]> {
  const events = await collect(harness.startTurn(session, message, opts))
  session.claudeSessionId = ofType(events, 'session:init').at(-1)?.claudeSessionId ?? session.claudeSessionId
  return events
}

/** What every turn promises, however it went. */
export function endOf(events: UIEvent[]): string {
  expect(events[0]?.type).toBe('turn:start')
  expect(ofType(events, 'turn:end')).toHaveLength(1)
  expect(events.at(-1)?.type).toBe('turn:end')
  return ofType(events, 'turn:end')[0]?.reason ?? ''
}

/** The messages that a request sent, as JSON. */
export function sentMessages(
  model: ScriptedModel,
  index = -1,
): { role: string; content: Record<string, unknown>[] }[] {
  const asked = model.requests.filter(({ path }) => path.endsWith('/messages'))
  const body = (asked.at(index)?.body ?? {}) as { messages?: [] }
  return body.messages ?? []
}

/**
 * Lets a stalled answer go on as soon as there is one: on a busy machine a short `stallMs` is over before the model was asked. Not
 * awaited in a loop over the events of the turn, which may ask the model only when the next event is asked for.
 */
export function releaseStalled(model: ScriptedModel): void {
  const released = () => model.release()
  // A turn may stall again after its answer went on; then the model is closed before another request comes.
  model.waitForRequest(({ state }) => state === 'stalled').then(released, () => {})
}
