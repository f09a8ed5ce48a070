import type { ClientToolDefinition } from '@chirality/core'

/** The process knows the tools of the turn it was started for; a call goes to the handler of the turn that runs. */
export class RelayedTools {
  readonly definitions: ClientToolDefinition[] | undefined
  #handlers: ReadonlyMap<string, ClientToolDefinition['handler']> = new Map()

  constructor(tools: ClientToolDefinition[] | undefined) {
    this.use(tools)
    this.definitions = tools?.map(tool => ({
      ...tool,
      handler: async (args, context) => {
        const handler = this.#handlers.get(tool.name)
        return handler ? handler(args, context) : { error: `${tool.name} is not there any more.` }
      },
    }))
  }

  use(tools: ClientToolDefinition[] | undefined): void {
    this.#handlers = new Map(tools?.map(({ name, handler }) => [name, handler]))
  }
}
