export { TOOL_SERVER_NAME } from './mcp-server.ts'
export { startToolServer, type ToolServerHandle, type ToolServerOptions } from './tool-server.ts'
