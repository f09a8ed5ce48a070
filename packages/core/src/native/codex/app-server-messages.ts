import type { CodexNotification } from './notifications.ts'

/** JSON-RPC without the `jsonrpc` member, one message a line. */
export type CodexAppServerMessage = CodexNotification | CodexServerRequest | CodexResponse

export type CodexRequestId = string | number

/** The agent asks its host something and waits for a response with the same `id`. */
export interface CodexServerRequest {
  type?: undefined
  id: CodexRequestId
  method: CodexServerRequestMethod | (string & {})
  params?: unknown
  [key: string]: unknown
}

export type CodexServerRequestMethod =
  | 'item/commandExecution/requestApproval'
  | 'item/fileChange/requestApproval'
  | 'item/permissions/requestApproval'
  | 'item/tool/requestUserInput'
  | 'item/tool/call'
  | 'mcpServer/elicitation/request'
  | 'account/chatgptAuthTokens/refresh'
  | 'attestation/generate'
  | 'applyPatchApproval'
  | 'execCommandApproval'

/** The answer to a request of the host. It does not say which method it answers. */
export interface CodexResponse {
  type?: undefined
  method?: undefined
  id: CodexRequestId | null
  result?: unknown
  error?: { code?: number; message?: string; data?: unknown; [key: string]: unknown }
  [key: string]: unknown
}
