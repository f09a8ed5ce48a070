// A separate file: an import of the name must not require the types of the MCP SDK.
export const TOOL_SERVER_NAME = '__harness_client_tools'
