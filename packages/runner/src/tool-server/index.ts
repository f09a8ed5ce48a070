export { TOOL_SERVER_NAME } from './server-name.ts'
export { startToolServer, type ToolServerHandle, type ToolServerOptions } from './tool-server.ts'
