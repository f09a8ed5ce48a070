export interface Hello {
  url: string
  token: string
  sessionIds: string[]
}

export type ServerCommand =
  /** Starts the agents. */
  | 'begin'
  /** CPU time of the process so far, in ms. */
  | 'cpu'

export interface BenchedServer {
  hello: Hello
  begin(): Promise<void>
}

/** The side of a benched server that the benchmark talks to. */
export function serveBench({ hello, begin }: BenchedServer): void {
  process.on('message', (command: ServerCommand) => {
    if (command === 'cpu') {
      const { user, system } = process.cpuUsage()
      process.send?.((user + system) / 1000)
    } else void begin().then(() => process.send?.('begun'))
  })
  process.once('disconnect', () => process.exit())
  process.send?.(hello)
}
