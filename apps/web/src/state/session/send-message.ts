import type { CallInputs, CallOutputs, Client } from '@chirality/client'
import type { PermissionMode, PromptPart } from '@chirality/core'

export interface OutgoingMessage {
  text: string
  parts?: PromptPart[]
  retryOfTurnId?: string
  /** For this turn only. */
  permissionMode?: PermissionMode
}

export type Sent = CallOutputs['turns']['steer']

/** Starts a turn with the message or puts it into the queue; `steer` gives it to the turn that runs. */
export function sendMessage(
  { turns }: Pick<Client, 'turns'>,
  sessionId: string,
  message: OutgoingMessage,
  how: 'send' | 'steer' = 'send',
): Promise<Sent> {
  return turns[how].mutate({ sessionId, ...turnInput(message) })
}

type TurnInput = CallInputs['turns']['send']
type TurnPart = NonNullable<NonNullable<TurnInput['options']>['images']>[number]

function turnInput({
  text,
  parts = [],
  retryOfTurnId,
  permissionMode,
}: OutgoingMessage): Omit<TurnInput, 'sessionId'> {
  const images = parts.flatMap((part): TurnPart[] => {
    if (part.type === 'text') return [part]
    return part.source.kind === 'base64' ? [{ type: 'image', source: part.source }] : []
  })
  return {
    message: text,
    options: { images: images.length > 0 ? images : undefined, retryOfTurnId, permissionMode },
  }
}
