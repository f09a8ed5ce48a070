import type { CallOutputs } from '@chirality/server'
import { askProcedure } from '../../running-server.ts'
import type { EditorSession } from './editor-session.ts'
import { configOptions, modeOf, type SetSession } from './editor-settings.ts'

type StoredSession = CallOutputs['sessions']['get']

interface ToldSession extends SetSession {
  live: EditorSession
}

export async function tellSettings(session: ToldSession): Promise<void> {
  const { live, stored } = session
  const currentModeId = modeOf(stored)
  await live.send({ sessionUpdate: 'current_mode_update', currentModeId })
  await live.send({ sessionUpdate: 'config_option_update', configOptions: configOptions(session) })
}

export async function tellCommands({ live, stored, harness }: ToldSession): Promise<void> {
  if (harness === undefined) return
  const commands = await askProcedure<CallOutputs['harnesses']['slashCommands']>(
    ...[live.server, 'harnesses.slashCommands', { harness: harness.id, project: stored.projectRoot }],
  ).catch(() => [])
  const availableCommands = commands.map(({ name, description = '', hint }) => ({
    ...{ name, description, input: hint === undefined ? null : { hint } },
  }))
  await live.send({ sessionUpdate: 'available_commands_update', availableCommands })
}

/** The title, and what the conversation takes of the model's room and of the user's money. */
export async function tellState(session: ToldSession): Promise<void> {
  const { live, stored } = session
  const input = { sessionId: live.id }
  const now = await askProcedure<StoredSession>(live.server, 'sessions.get', input).catch(() => stored)
  const { title, updatedAt, costUsd } = now
  await live.send({ sessionUpdate: 'session_info_update', title, updatedAt })
  await tellRoom(session, costUsd)
}

export async function tellRoom({ live, stored }: ToldSession, costUsd = stored.costUsd): Promise<void> {
  const input = { sessionId: live.id }
  const room = await askProcedure<CallOutputs['turns']['contextUsage']>(
    ...[live.server, 'turns.contextUsage', input],
  ).catch(() => null)
  if (room?.usedTokens == null) return
  const cost = costUsd === null ? {} : { cost: { amount: costUsd, currency: 'USD' } }
  await live.send({ sessionUpdate: 'usage_update', used: room.usedTokens, size: room.maxTokens, ...cost })
}
