import type { AppServer } from '../app-server/app-server.ts'
import type { CodexContext } from '../config.ts'
import { withAppServer } from './app-server-threads.ts'

export interface TwoWays<T> {
  ask: (server: AppServer) => Promise<T>
  read: () => Promise<T>
}

/** The app-server knows best. Where there is none, or none that answers, its files have to do. */
export async function askOrRead<T>(context: CodexContext, { ask, read }: TwoWays<T>): Promise<T> {
  const { config } = context
  if (config.voice === 'exec') return read()
  try {
    return await withAppServer(context, ask)
  } catch (error) {
    config.onLog?.({ level: 'warn', event: 'native-sessions:files', data: { error: String(error) } })
    return read()
  }
}
