import { createContext, use } from 'react'
import type { ServerApi } from './server-api.ts'

export const ApiContext = createContext<ServerApi | null>(null)

export function useApi(): ServerApi {
  const api = use(ApiContext)
  if (!api) throw new Error('useApi is only for what is inside an ApiContext')
  return api
}
