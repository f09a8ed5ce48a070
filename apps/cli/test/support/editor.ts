import {
  client,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import type { World } from './world.ts'

export type Answer = (
  request: RequestPermissionRequest,
  signal: AbortSignal,
) => Promise<RequestPermissionResponse> | RequestPermissionResponse

/** The SDK's own client, which checks every message of the agent against the schema of the protocol. */
export async function openEditor(
  world: World,
  args: string[] = [],
  answer: Answer = choose('allow_once'),
  env: Record<string, string> = {},
) {
  const command = world.start(['acp', ...args], { keepsInput: true, env })
  const updates: SessionUpdate[] = []
  const watchers = new Set<() => void>()
  const current = { answer }
  const { input, output } = command.streams()
  const { agent } = client({ name: 'an editor' })
    .onNotification('session/update', ({ params }) => {
      updates.push(params.update)
      for (const look of [...watchers]) look()
    })
    .onRequest('session/request_permission', ({ params, signal }) => current.answer(params, signal))
    .connect(ndJsonStream(input, output))
  const hello = await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  const until = (holds: (update: SessionUpdate) => boolean) =>
    new Promise<void>(resolve => {
      const look = () => {
        if (!updates.some(holds)) return
        watchers.delete(look)
        resolve()
      }
      watchers.add(look)
      look()
    })
  const prompt = (sessionId: string, text: string) =>
    agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
  return { command, agent, hello, updates, until, prompt, current }
}

/** Chooses the option of a kind. */
export function choose(kind: string): Answer {
  return ({ options }) => {
    const optionId = options.find(option => option.kind === kind)?.optionId ?? ''
    return { outcome: { outcome: 'selected', optionId } }
  }
}

export function said(updates: SessionUpdate[], kind = 'agent_message_chunk'): string {
  return updates
    .map(update =>
      update.sessionUpdate === kind && 'content' in update && 'text' in (update.content as object)
        ? (update.content as { text: string }).text
        : '',
    )
    .join('')
}
