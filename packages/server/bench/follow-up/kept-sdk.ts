import { agentSdkUrl, type CleanHome, claudeBinary } from '@chirality/fixtures'

/** The official SDK as its users keep it: one `query` that is given one message after the other. */
export async function keptSdk({ env, project }: CleanHome) {
  const { query } = (await import(agentSdkUrl())) as { query: (options: object) => AsyncIterable<Said> }
  let send: (message: object | null) => void = () => {}
  async function* messages() {
    for (;;) {
      const message = await new Promise<object | null>(resolve => {
        send = resolve
      })
      if (message === null) return
      yield message
    }
  }
  const options = {
    ...{ cwd: project, env, includePartialMessages: true, settingSources: [] },
    pathToClaudeCodeExecutable: claudeBinary(),
  }
  const said = query({ prompt: messages(), options })[Symbol.asyncIterator]()
  // The first message is asked for when the iteration begins.
  let next = said.next()
  return {
    async firstText(content: string): Promise<number> {
      await new Promise(resolve => setTimeout(resolve, 0))
      const sentAt = performance.now()
      send({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '' })
      let textMs = Number.NaN
      for (;;) {
        const { value, done } = await next
        if (done) throw new Error('The SDK ended.')
        next = said.next()
        const isText = value.type === 'stream_event' && value.event?.delta?.type === 'text_delta'
        if (isText && Number.isNaN(textMs)) textMs = performance.now() - sentAt
        if (value.type === 'result') return textMs
      }
    },
    async [Symbol.asyncDispose]() {
      send(null)
      await said.return?.()
    },
  }
}

interface Said {
  type: string
  event?: { delta?: { type?: string } }
}
