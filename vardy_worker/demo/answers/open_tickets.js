async function run(params) {
  const [tickets, agents] = await Promise.all([list_tickets({ status: "open" }), list_agents()]);
  const count = (agentId) => tickets.filter((ticket) => ticket.agent_id === agentId).length;
  return {
    agents: agents.map((agent) => ({ agent: agent.name, open_tickets: count(agent.id) })),
    unassigned: count(null),
  };
}
