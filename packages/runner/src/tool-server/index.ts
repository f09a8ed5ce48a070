export { TOOL_SERVER_NAME } from './mcp-server.ts'
export type { ClientTool, ToolCallContext } from './prepare-tools.ts'
export { startToolServer, type ToolServerHandle, type ToolServerOptions } from './tool-server.ts'
