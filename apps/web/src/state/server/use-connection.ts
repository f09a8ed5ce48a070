import { useEffect, useState } from 'react'
import type { ConnectionState } from './server-api.ts'
import { useApi } from './use-api.ts'

export function useConnection(): ConnectionState {
  const api = useApi()
  const [state, setState] = useState<ConnectionState>('connecting')
  useEffect(() => api.watchConnection(setState), [api])
  return state
}
