import type { EditorSession } from './editor-session.ts'
import { configOptions, modeOf, type SetSession } from './editor-settings.ts'

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
  const commands = await live.server.calls.harnesses.slashCommands
    .query({ harness: harness.id, project: stored.projectRoot })
    .catch(() => [])
  const availableCommands = commands.map(({ name, description = '', hint }) => ({
    ...{ name, description, input: hint === undefined ? null : { hint } },
  }))
  await live.send({ sessionUpdate: 'available_commands_update', availableCommands })
}

/** The title, and what the conversation takes of the model's room and of the user's money. */
export async function tellState(session: ToldSession): Promise<void> {
  const { live, stored } = session
  const now = await live.server.calls.sessions.get.query({ sessionId: live.id }).catch(() => stored)
  const { title, updatedAt, costUsd } = now
  await live.send({ sessionUpdate: 'session_info_update', title, updatedAt })
  await tellRoom(session, costUsd)
}

export async function tellRoom({ live, stored }: ToldSession, costUsd = stored.costUsd): Promise<void> {
  const room = await live.server.calls.turns.contextUsage.query({ sessionId: live.id }).catch(() => null)
  if (room?.usedTokens == null) return
  const cost = costUsd === null ? {} : { cost: { amount: costUsd, currency: 'USD' } }
  await live.send({ sessionUpdate: 'usage_update', used: room.usedTokens, size: room.maxTokens, ...cost })
}
