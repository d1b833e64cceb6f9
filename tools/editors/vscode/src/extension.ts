// The extension starts `tdslc lsp`, and passes the settings `tdsl.plan` to it.
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("tdsl");
}

function made(): LanguageClient {
  const server: ServerOptions = { command: settings().get<string>("path") || "tdslc", args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "tdsl" }],
    initializationOptions: { plan: settings().get("plan") ?? null },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.tdsl") },
  };
  return new LanguageClient("tdsl", "TDSL", server, options);
}

async function start(): Promise<void> {
  client = made();
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const text = `TDSL: \`${settings().get<string>("path")} lsp\` does not start; the setting tdsl.path names the compiler`;
    void vscode.window.showErrorMessage(`${text} (${error})`);
  }
}

async function stop(): Promise<void> {
  const old = client;
  client = undefined;
  await old?.stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(vscode.commands.registerCommand("tdsl.restart", restart));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("tdsl.path")) {
        await restart();
      } else if (change.affectsConfiguration("tdsl.plan")) {
        const plan = settings().get("plan") ?? null;
        await client?.sendNotification("workspace/didChangeConfiguration", { settings: { tdsl: { plan } } });
      }
    }),
  );
  await start();
}

export function deactivate(): Promise<void> {
  return stop();
}
