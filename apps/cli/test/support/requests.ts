import type { ScriptedModel } from '@chirality/scripted-model'

export interface MessagesBody {
  model: string
  messages: { role: string; content: unknown }[]
  tools?: { name: string }[]
}

/** What the agent asked the model in the main conversation, in order. */
export function asked(model: ScriptedModel): MessagesBody[] {
  return model.requests
    .filter(({ path, served }) => path === '/v1/messages' && !served.startsWith('side:'))
    .map(({ body }) => body as MessagesBody)
}

/** The texts of the user's messages. */
export function userTexts(body: MessagesBody | undefined): string[] {
  const messages = body?.messages.filter(({ role }) => role === 'user') ?? []
  return messages.flatMap(({ content }) =>
    typeof content === 'string'
      ? [content]
      : (content as { type: string; text?: string }[]).flatMap(({ text }) =>
          text === undefined ? [] : [text],
        ),
  )
}
